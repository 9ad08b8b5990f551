"""Making, training, judging and promoting judges. Knows neither Gradio nor the pages."""
