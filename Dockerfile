# One image; the command chooses the role:
#   python -m collectors run, python -m alerting run, python -m spark_metrics run,
#   python -m app, or python -m runtime run for all four in one container.
FROM python:3.11-slim-bookworm

ENV HEADROOM_CACHE=/opt/headroom/.cache \
    HEADROOM_HEARTBEAT=/tmp/headroom-heartbeat \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/opt/headroom \
    PYTHONUNBUFFERED=1
WORKDIR /opt/headroom

# Packages first: they change less often than the code. requirements-jre.txt brings the Java
# runtime.
COPY requirements.txt requirements-jre.txt ./
RUN pip install --no-cache-dir --require-hashes -r requirements.txt -r requirements-jre.txt

COPY runtime runtime
# Delta's jars are baked in, so that a container starts without a network; those for a lake in S3
# with --build-arg SETUP=--with-s3.
ARG SETUP=
RUN python -m runtime setup ${SETUP} \
    && python -m runtime sbom --output /opt/headroom/sbom.json

COPY config config
COPY lake lake
COPY alerting alerting
COPY scaling scaling
COPY simulation simulation
COPY collectors collectors
COPY spark_metrics spark_metrics
COPY app app

RUN useradd --system --uid 10001 --create-home headroom \
    && mkdir -p /var/lib/headroom /etc/headroom \
    && chown headroom /var/lib/headroom
USER 10001
VOLUME /var/lib/headroom
EXPOSE 8501

ENV HEADROOM_CONFIG=/etc/headroom/headroom.yaml
# A service that hangs, or a dashboard that does not answer.
HEALTHCHECK --interval=15s --timeout=10s --start-period=90s --retries=4 \
    CMD ["python", "/opt/headroom/runtime/heartbeat.py"]
CMD ["python", "-m", "runtime", "run", "--config", "/etc/headroom/headroom.yaml"]
