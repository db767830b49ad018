-- Stands behind holds.lua, in front of the scripts that take a read-write lock away from whoever holds it.

-- Ends every hold of both sides. Gives the clients of libdlock that had one, each once, in an order that does not depend on the
-- server's: they are to be told `lost`. Where there are too many holds to look at each, there are none: their keys end with their
-- leases, and their clients learn of it when they renew.
local function end_all()
  local clients, seen = {}, {}
  if redis.call('HLEN', L) <= MOST_FIELDS then
    local fields = redis.call('HGETALL', L)
    for at = 1, #fields, 2 do
      local field = fields[at]
      if field ~= 'mode' then
        local timeout, entries = timeouts_of(field, fields[at + 1])
        for n = 1, entries do
          redis.call('DEL', timeout .. n)
        end
        local client = is_ours(field) and string.sub(field, 1, 36)
        if client and not seen[client] then
          seen[client] = true
          clients[#clients + 1] = client
        end
      end
    end
  end
  redis.call('DEL', L)
  table.sort(clients)
  return clients
end

