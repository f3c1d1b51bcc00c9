"""Small files, written for a test."""


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
