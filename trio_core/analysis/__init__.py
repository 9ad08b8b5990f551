"""The papers' analyses on stored runs: pure functions over `RunFacts`, and the tables and plots made of them."""
