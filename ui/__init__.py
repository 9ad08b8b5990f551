"""The Gradio pages. They show what the store and the workbench say, and hold no run and no label themselves."""
