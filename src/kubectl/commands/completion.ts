import { defineCommand } from '../command.ts'
import { shellScripts } from '../completion/shell-scripts.ts'
import { CommandUsageError } from '../errors.ts'

export const command = defineCommand({
  usage: 'completion SHELL',
  description: `Prints the code with which a shell completes command lines of kubectl: commands, flags, types and
names of objects in the cluster. Shells are bash, zsh, fish and powershell.`,
  examples: `  # In the current shell
  source <(kubectl completion bash)

  # In every bash
  kubectl completion bash > ~/.kube/completion.bash
  echo "source ~/.kube/completion.bash" >> ~/.bashrc

  # In every zsh
  kubectl completion zsh > "\${fpath[1]}/_kubectl"

  # In every fish
  kubectl completion fish > ~/.config/fish/completions/kubectl.fish`,
  flags: {},
  async run({ args, streams }) {
    const [shell, ...more] = args
    if (shell === undefined) throw new CommandUsageError('Shell not specified.')
    if (more.length > 0) throw new CommandUsageError('Too many arguments. Expected only the shell type.')
    const script = shellScripts[shell]
    if (script === undefined) throw new CommandUsageError(`Unsupported shell type ${JSON.stringify(shell)}.`)
    streams.write(script)
  },
})
