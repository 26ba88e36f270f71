import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

/** Where `obelus serve` listens while the page is developed: `OBELUS=http://127.0.0.1:8321 npm run dev`. */
const server = process.env.OBELUS ?? 'http://127.0.0.1:8321';

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    // The policy of the page permits neither inline scripts nor data addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    // The graph is loaded with the screen that draws it.
    chunkSizeWarningLimit: 400,
  },
  server: {
    proxy: {
      '/api': { target: server, changeOrigin: true, configure: (proxy) => proxy.on('proxyReq', (sent) => sent.removeHeader('origin')) },
    },
  },
});
