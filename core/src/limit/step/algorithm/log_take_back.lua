  if kind == 'l' then
    local rest = cost
    -- Each of them was a charge of at least one token.
    while rest > 0 and v[i] > z[i] do
      if y[i] > rest then
        v[i], y[i], rest = v[i] - rest, y[i] - rest, 0
      else
        redis.call('RPOP', key)
        rest = rest - y[i]
        local time, total, own = string.match(redis.call('LINDEX', key, -1) or '', '^(%d+) (%d+) (%d+)')
        u[i], v[i], y[i] = tonumber(time or 0), tonumber(total or 0), tonumber(own or 0)
      end
      moved[i] = true
    end
  end
