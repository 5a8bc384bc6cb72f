import { execFileSync, spawnSync } from 'node:child_process'
import { etcdMissing } from '../etcd/cluster.ts'

/** The reason why hosts cannot be started on this machine; false when they can. */
export const hostsMissing: string | false = reasonWithoutHosts()

function reasonWithoutHosts(): string | false {
  if (etcdMissing) return etcdMissing
  if (process.getuid?.() !== 0) return 'hosts in namespaces need root'
  const isAllowed = spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'ip', 'link']).status === 0
  if (!isAllowed) return 'namespaces cannot be made'
  try {
    execFileSync('which', ['kubectl'], { stdio: 'ignore' })
    return false
  } catch {
    return 'kubectl is not installed (Debian package kubernetes-client)'
  }
}
