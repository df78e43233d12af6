-- Promises 6 and 7: each completed parcel has its event, and no other parcel has one.
-- Database: parcels.
--
-- Retention drops the events of whole days. The event of a parcel that changed on such a day may be missing.
SELECT format('parcel %s of order %s is %s, but its event is %s', parcel.id, parcel.order_id, parcel.state,
              CASE WHEN event.id IS NULL THEN 'missing' ELSE 'announced' END) AS violation
  FROM parcel
  LEFT JOIN outbox_event AS event ON event.aggregate_id = parcel.id AND event.type = 'parcels.ParcelCompleted.v1'
 WHERE (parcel.state = 'completed') <> (event.id IS NOT NULL)
   AND NOT (event.id IS NULL
            -- The event is written a moment after the row, perhaps behind midnight.
            AND EXISTS (SELECT FROM outbox_dropped_day AS dropped
                         WHERE dropped.day BETWEEN (parcel.updated_at AT TIME ZONE 'UTC')::date
                                               AND (parcel.updated_at AT TIME ZONE 'UTC')::date + 1));
