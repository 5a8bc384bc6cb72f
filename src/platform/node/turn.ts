/**
 * One turn of the event loop: resolves after all pending microtasks and `process.nextTick` callbacks, and
 * those that they cause, have run. The simulation waits for it between two events.
 */
export function turn(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}
