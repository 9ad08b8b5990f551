"""Methods, events, engines, retrieval, prompts and metrics of Trioscope. Knows neither the store nor the pages."""
