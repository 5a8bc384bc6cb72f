/** The program in the bundle of kubectl, see `src/kubectl-start.ts`. */
import { command } from '#/commands/kubectl.ts'

void main()

async function main(): Promise<void> {
  process.exitCode = await command.run(process.argv.slice(2), {
    write: text => void process.stdout.write(text),
    writeError: text => void process.stderr.write(text),
  })
  // Exits after the output has been flushed, even if a failed command has left something running.
  process.stdout.write('', () => process.stderr.write('', () => process.exit()))
}
