"""Work in shards, on this machine or on a Ray cluster: same functions, same results."""
