"""One module a page, each with `build(ctx, demo)`."""
