import type { ChildProcess } from 'node:child_process'
import type { InteractiveExit, InteractiveOptions } from '../../io-streams.ts'
import { isTerminal } from './terminal-mode.ts'

/**
 * The program stays in the process group of this process, since the terminal lets only the foreground group read.
 */
export async function runInteractive(
  command: readonly string[],
  options: InteractiveOptions = {},
): Promise<InteractiveExit> {
  const [program = '', ...parameters] = command
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { environment, folder, input = 'inherit', capture } = options
  // Before the program runs, since it may cause a signal at once. Handlers are called after it was started.
  using _ = passSignals(name => child.kill(name))
  const child = spawn(program, parameters, {
    env: { ...process.env, ...environment },
    ...(folder !== undefined && { cwd: folder }),
    stdio: [input === 'nothing' ? 'ignore' : 'inherit', capture ? 'pipe' : 'inherit', 'inherit'],
  })
  const pieces: Buffer[] = []
  let sizeBytes = 0
  child.stdout?.on('data', (piece: Buffer) => {
    sizeBytes += piece.length
    if (sizeBytes <= (capture?.sizeBytesMax ?? 0)) pieces.push(piece)
    else child.kill('SIGKILL')
  })
  const [code, signal] = await ended(child)
  if (capture !== undefined && sizeBytes > capture.sizeBytesMax)
    throw new Error(`the output of ${program} exceeds ${capture.sizeBytesMax} bytes`)
  const output = Buffer.concat(pieces)
  if (signal === null) return { exit: { code: code ?? 0 }, status: code ?? 0, output }
  const { signals } = process.getBuiltinModule('node:os').constants
  return { exit: { signal }, status: 128 + signals[signal], output }
}

function ended(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    // After the exit and the end of the captured output.
    child.once('close', (code, signal) => resolve([code, signal]))
  })
}

/** A terminal sends the signals of its keys to the whole process group, so the program has received them already. */
function passSignals(kill: (name: NodeJS.Signals) => void): Disposable {
  const hasTerminal = ([0, 1, 2] as const).some(isTerminal)
  const pass = (name: NodeJS.Signals): void => {
    if (!hasTerminal || !keySignals.has(name)) kill(name)
  }
  for (const name of passedSignals) process.on(name, pass)
  return {
    [Symbol.dispose]: () => {
      for (const name of passedSignals) process.off(name, pass)
    },
  }
}

const keySignals: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
const passedSignals = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const
