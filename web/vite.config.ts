import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// The page is embedded in the server's binary and served under a strict Content-Security-Policy: nothing may end up
// inline (no data: URIs, no polyfill script), and every file but index.html carries a hash in its name.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});
