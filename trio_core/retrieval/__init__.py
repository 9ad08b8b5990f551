"""Retrieval: corpus readers, encoder, FAISS and BM25 indexes, rank fusion, remote retrievers.

Importing this package loads no model library; the parts are imported from their modules (`build.build_retriever` first).
"""
