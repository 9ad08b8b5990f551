"""Retrieval: corpus readers, encoder, FAISS and BM25 indexes, rank fusion, remote retrievers."""
