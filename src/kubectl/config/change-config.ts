import { dirname, relative, resolve } from 'node:path'
import {
  changeKubeconfig,
  kubeconfigPaths,
  loadKubeconfig,
  type Kubeconfig,
  type KubeconfigEdit,
} from '#/kubeconfig/kubeconfig.ts'
import type { Command, Invocation } from '../command.ts'
import type { Factory } from '../factory.ts'

/** The merged kubeconfig. Unlike for other commands, the file of `--kubeconfig` may be missing. */
export async function readConfig(factory: Factory): Promise<Kubeconfig> {
  return loadKubeconfig(factory.machine.platform, { ...factory.kubeconfigSources(), mayBeMissing: true })
}

/** The plan is made for the content of the locked files, so that no concurrent change is lost. */
export async function changeConfig(
  factory: Factory,
  plan: (kubeconfig: Kubeconfig) => readonly KubeconfigEdit[] | Promise<readonly KubeconfigEdit[]>,
): Promise<void> {
  await changeKubeconfig(factory.machine.platform, factory.kubeconfigSources(), plan)
}

/** The file for new entries, which messages name: the first one that exists, or the last of the list. */
export async function configFile(factory: Factory): Promise<string> {
  const { kubeconfig } = factory.globalFlags
  if (kubeconfig) return kubeconfig
  const paths = kubeconfigPaths(factory.kubeconfigSources())
  for (const path of paths) if ((await factory.machine.platform.files.stat(path)) !== undefined) return path
  return paths.at(-1) ?? ''
}

/** Paths in a kubeconfig are relative to its folder. */
export async function relativeToConfig(factory: Factory, path: string): Promise<string> {
  const { workingFolder } = factory.machine
  const absolute = resolve(workingFolder, path)
  const below = relative(dirname(resolve(workingFolder, await configFile(factory))), absolute)
  return below.startsWith('..') ? absolute : below
}

/** The content of a file that is embedded, in base64. */
export async function embeddedFile(
  { machine }: Factory,
  { flag, path }: { readonly flag: string; readonly path: string },
): Promise<string> {
  try {
    const content = await machine.platform.files.read(resolve(machine.workingFolder, path))
    return Buffer.from(content).toString('base64')
  } catch (error) {
    const { describeFileError } = await import('../read-file-content.ts')
    const reason = describeFileError('stat', path, error)
    throw new Error(`could not stat ${flag} file ${path}: ${reason}`, { cause: error })
  }
}

/** Shows the help of a command on stderr. */
export async function showHelp(command: Command, { commandPath, streams }: Invocation): Promise<void> {
  const { describeCommand } = await import('../help.ts')
  streams.stderr.write(describeCommand(command, { path: commandPath.split(' '), aliases: [] }))
}

/** Shows the help and throws Error if the number of arguments is wrong. */
export async function requireArguments(
  command: Command,
  invocation: Invocation,
  { count, message = 'Unexpected args' }: { readonly count: number; readonly message?: string },
): Promise<void> {
  const { args } = invocation
  if (args.length === count) return
  await showHelp(command, invocation)
  throw new Error(`${message}: [${args.join(' ')}]`)
}
