"""TRIO's training in full: Algorithm 1 from questions to three adapters, each step with its data and a manifest."""
