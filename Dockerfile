# A small image of the server; docs/containers.md says how to run it.
FROM python:3.13-trixie AS build
# What else the image can do: --build-arg EXTRAS=server,parquet,excel,skos
ARG EXTRAS=server
WORKDIR /source
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY native native
COPY src src
# Nobody runs the tests of NumPy, SciPy and scikit-learn there, a seventh of what is installed.
RUN python -m venv /opt/polyseme \
    && /opt/polyseme/bin/pip install --no-cache-dir ".[$EXTRAS]" \
    && /opt/polyseme/bin/pip uninstall --yes pip \
    && find /opt/polyseme -depth -type d -name tests -exec rm -r {} +

FROM python:3.13-slim-trixie
# libstdc++ is part of the image; a compiler is not.
COPY --from=build /opt/polyseme /opt/polyseme
# The first layout of a map takes seconds; it is kept there if a volume is.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin polyseme \
    && install --directory --owner=10001 --group=10001 /cache
ENV PATH=/opt/polyseme/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 POLYSEME_CACHE=/cache
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["polyseme"]
CMD ["serve", "/models/default", "--host", "0.0.0.0", "--port", "8000"]
