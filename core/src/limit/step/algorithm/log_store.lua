  if kind == 'l' then
    text, ahead = '', 0
    if v > z then
      ahead = math.max(0, u + second - now - w)
      if moved then
        text = string.format('%.0f %.0f %.0f', u, v, y)
        if w > 0 or u ~= now then
          text = string.format('%s %.0f %.0f', text, now + w, w)
        end
      end
    end
  end
