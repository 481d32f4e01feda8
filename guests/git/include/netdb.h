// libgit2 includes it; nothing of it is used.
