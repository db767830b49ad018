  if kind == 'l' then
    local rest = cost
    -- Each of them was a charge of at least one token.
    while rest > 0 and v > z do
      if y > rest then
        v, y, rest = v - rest, y - rest, 0
      else
        redis.call('RPOP', key)
        rest = rest - y
        local its, total, own = string.match(redis.call('LINDEX', key, -1) or '', '^(%d+) (%d+) (%d+)')
        u, v, y = tonumber(its or 0), tonumber(total or 0), tonumber(own or 0)
      end
      moved = true
    end
  end
