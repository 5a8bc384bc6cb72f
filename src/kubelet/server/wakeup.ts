/** Waits until somebody says that there is something to look at. Who says it before anybody waits is heard too. */
export class Wakeup {
  #isAwake = false
  #resolve: (() => void) | undefined

  wake(): void {
    this.#isAwake = true
    this.#resolve?.()
  }

  /** From now on what is said counts for the next wait. */
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
