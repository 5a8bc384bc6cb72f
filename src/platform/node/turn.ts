/**
 * One turn of the event loop: resolves when every microtask and every `process.nextTick` that the program had
 * pending, and all that follow from them, have run. The simulation waits for it between two events.
 */
export function turn(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}
