# A small image of the server; docs/containers.md says how to run it.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY native native
COPY src src
RUN python -m venv /opt/polyseme \
    && /opt/polyseme/bin/pip install --no-cache-dir '.[server,parquet]'

FROM python:3.13-slim
# libstdc++ is part of the image; a compiler is not.
COPY --from=build /opt/polyseme /opt/polyseme
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin polyseme
ENV PATH=/opt/polyseme/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["polyseme"]
CMD ["serve", "/models/default", "--host", "0.0.0.0", "--port", "8000"]
