-- Included before every operation: called without keys it does nothing, but the server knows it from then on.
--
-- SCRIPT LOAD would do the same, but Redis before 7 writes scripts loaded that way into its append-only file and
-- sends them to replicas: it would know the operation again after a restart, and the restart would not be noticed.

if #KEYS == 0 then
    return 0
end
