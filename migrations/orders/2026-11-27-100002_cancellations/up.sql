-- Finds the accepted cancellations of an order, also those that changed nothing, so that an erasure finds their responses. It has one
-- entry for each cancellation, so other commands pay nothing for it.
CREATE INDEX CONCURRENTLY audit_fact_cancellation ON audit_fact (subject_id) WHERE action = 'order.cancel';
