  if kind == 'l' and v[i] > z[i] then
    if moved[i] then
      local entry = string.format('%.0f %.0f %.0f', u[i], v[i], y[i])
      if w[i] > 0 or u[i] ~= now then
        entry = string.format('%s %.0f %.0f', entry, now + w[i], w[i])
      end
      redis.call('LSET', key, -1, entry)
    end
    redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(math.max(0, u[i] + second - now - w[i]) / 1000) + 1))
  end
