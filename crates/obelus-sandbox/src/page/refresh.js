setInterval(async () => {
  if (document.hidden) return;
  try {
    const seen = document.body.dataset.requests;
    const now = await (await fetch("version", { cache: "no-store" })).text();
    if (now !== seen) location.reload();
  } catch { /* The portal has stopped; keep the page. */ }
}, 2000);
