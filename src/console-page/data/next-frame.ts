/** A page in the background has no frames. */
const backgroundMs = 500

export function nextFrame(callback: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(callback)
  else setTimeout(callback, backgroundMs)
}
