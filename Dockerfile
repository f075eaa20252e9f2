# A worker of a crawl: `docker run webcrawl -a seeds=https://www.example.org/`, or many of them with compose.yaml.
# docs/guides/containers.md says how to use it, also with spiders of your own, and how it was tested.

# The Debian and the Python that the tests run on. This stage has a compiler, for what comes without a wheel.
FROM python:3.11-bookworm AS build
WORKDIR /build
COPY requirements.txt ./
RUN python -m venv --without-pip /venv \
 && pip --python /venv/bin/python install --no-cache-dir --disable-pip-version-check -r requirements.txt
# Extras of pyproject.toml, with commas: docker build --build-arg EXTRAS=parquet,search .
ARG EXTRAS=""
COPY requirements-extras.txt pyproject.toml setup.py README.md LICENSE ./
COPY webcrawl ./webcrawl
RUN pip --python /venv/bin/python install --no-cache-dir --disable-pip-version-check \
    -c requirements.txt -c requirements-extras.txt ".${EXTRAS:+[$EXTRAS]}"

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 crawler \
 && useradd --uid 10001 --gid crawler --no-create-home --home-dir /crawls --shell /usr/sbin/nologin crawler \
 && install -d -o crawler -g crawler /crawls
COPY --from=build /venv /venv
COPY docker/worker docker/healthy docker/until-done /usr/local/bin/
# CRAWLS holds a JOBDIR for each worker. In SCRAPY_SETTINGS_MODULE every setting NAME can be given as WEBCRAWL_NAME. A
# project of your own has its place in /app.
ENV PATH=/venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SCRAPY_SETTINGS_MODULE=webcrawl.environment \
    CRAWLS=/crawls
WORKDIR /app
USER 10001:10001
VOLUME /crawls
# A signal asks the crawl to finish what is open: give it longer than DOWNLOAD_TIMEOUT before it is killed.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["healthy"]
ENTRYPOINT ["worker"]
