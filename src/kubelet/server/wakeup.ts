/** Waits for a notification. A notification before the wait is not lost. */
export class Wakeup {
  #isAwake = false
  #resolve: (() => void) | undefined

  wake(): void {
    this.#isAwake = true
    this.#resolve?.()
  }

  /** Resets the flag: only later notifications end the next wait. */
  arm(): void {
    this.#isAwake = false
  }

  async wait(): Promise<void> {
    if (this.#isAwake) return
    await new Promise<void>(resolve => {
      this.#resolve = resolve
    })
    this.#resolve = undefined
  }
}
