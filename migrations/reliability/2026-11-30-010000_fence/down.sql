DROP TABLE idempotency_fence;
