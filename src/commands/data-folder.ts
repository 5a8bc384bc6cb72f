/** The `--data-dir` flag, which selects a cluster on this machine. */
import { join, resolve } from 'node:path'
import { valueFlag } from '#/base/flags.ts'
import { homeFolder, programPaths } from '#/platform/node.ts'

export const dataFolderFlag = {
  'data-dir': valueFlag('DIR', 'data directory (default ~/.k8ts)', { parse: resolve, what: 'a folder' }),
}

export function dataFolder(flags: { readonly 'data-dir'?: string }): string {
  return flags['data-dir'] ?? join(homeFolder(), '.k8ts')
}

/** Path of the administrator's kubeconfig. */
export function adminKubeconfig(folder: string): string {
  return join(folder, 'admin.conf')
}

/** A line for a shell that makes `kubectl` access the cluster: that of this installation, unless there is another. */
export function kubectlSetup(kubeconfig: string): string {
  return `export KUBECONFIG=${kubeconfig} PATH="$PATH:${programPaths().root.replace(/\/$/, '')}"`
}

/** The same, to be appended to a message. */
export function kubectlHint(kubeconfig: string): string {
  return `; kubectl in another terminal:\n${kubectlSetup(kubeconfig)}`
}
