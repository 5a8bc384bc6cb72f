/** Runs a command of simulated containers outside of a simulated runtime, for hollow nodes. */
import type { Clock } from '#/platform/platform.ts'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'
import { CommandRun } from './simulated/command-run.ts'
import { killedCode } from './simulated/plan-container-run.ts'
import { SimulatedProcess } from './simulated/simulated-process.ts'
import type { CommandStep } from './simulated-command.ts'

export interface SimulatedCommandOptions {
  readonly clock: Clock
  readonly steps: readonly CommandStep[]
  readonly streams: CommandOptions
}

/** Files are not written. Disposing of the process kills it. */
export function runSimulatedCommand({ clock, steps, streams }: SimulatedCommandOptions): CommandProcess {
  const process = new SimulatedProcess(streams, () => {
    run.cutOff()
    process.finish({ type: 'exited', code: killedCode })
  })
  const run = new CommandRun({
    clock,
    steps,
    hasInput: streams.stdin,
    print: (stream, bytes) => process.print(stream, bytes),
    writeFile: async () => undefined,
    onExit: code => process.finish({ type: 'exited', code }),
  })
  process.connect(run)
  run.start()
  return process
}
