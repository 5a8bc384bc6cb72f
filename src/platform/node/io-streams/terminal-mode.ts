/** Modes of the terminal at stdin. Node restores the mode at its start whenever the process exits. */

export function isTerminal(descriptor: 0 | 1 | 2): boolean {
  return process.getBuiltinModule('node:tty').isatty(descriptor)
}

export function rawMode(): Disposable {
  if (!isTerminal(0)) return { [Symbol.dispose]: () => undefined }
  const { stdin } = process
  const restore = (): void => {
    for (const name of unhandledSignals) process.off(name, end)
    stdin.setRawMode(false)
  }
  const end = (name: NodeJS.Signals): void => {
    restore()
    process.kill(process.pid, name)
  }
  for (const name of unhandledSignals) process.once(name, end)
  stdin.setRawMode(true)
  // Node leaves the translation of line feeds on, which moves the cursor of full-screen programs to the first column.
  stty('-opost')
  return { [Symbol.dispose]: restore }
}

/** On which Node ends without restoring the mode. */
const unhandledSignals = ['SIGHUP', 'SIGQUIT'] as const

/** Undefined if stdin is not a terminal, which echoes nothing. */
export function withoutEcho(): Disposable | undefined {
  if (!isTerminal(0)) return undefined
  if (!stty('-echo')) throw new Error('cannot turn off the echo of the terminal: stty failed')
  return { [Symbol.dispose]: () => void stty('echo') }
}

/** Returns false if the system has no `stty`. */
function stty(setting: string): boolean {
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { status } = spawnSync('stty', [setting], { stdio: ['inherit', 'ignore', 'ignore'] })
  return status === 0
}
