  if kind == 'l' and v > z then
    if moved then
      local entry = string.format('%.0f %.0f %.0f', u, v, y)
      if w > 0 or u ~= now then
        entry = string.format('%s %.0f %.0f', entry, now + w, w)
      end
      redis.call('LSET', key, -1, entry)
    end
    redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(math.max(0, u + second - now - w) / 1000) + 1))
  end
