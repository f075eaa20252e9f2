-- Put before every operation: called without keys it does nothing, but the server knows it from then on.
--
-- SCRIPT LOAD would do the same, but Redis before 7 writes what was loaded so into its append-only file and gives it to
-- replicas: it would know the operation again after a restart, and nobody would notice that it has started.

if #KEYS == 0 then
    return 0
end
