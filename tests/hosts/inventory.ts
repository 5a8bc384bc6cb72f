/** What is on a host that is not part of the system it started with: compared before and after a cluster. */
import type { HostMachine } from './host-machine.ts'

/** By kind, sorted. */
export type Inventory = Readonly<Record<string, readonly string[]>>

export async function inventoryOf(host: HostMachine): Promise<Inventory> {
  const inventory: Record<string, readonly string[]> = {}
  // One after the other: a command that starts is a process, too.
  for (const [kind, command] of Object.entries(commands)) {
    const lines = (await host.output('sh', '-c', command)).split('\n')
    inventory[kind] = lines.filter(line => line !== '').sort()
  }
  return inventory
}

/** Folders are left by containerd and CNI; they are empty. The commands themselves are processes, too. */
const commands: Readonly<Record<string, string>> = {
  processes: 'ps -e -o args= | grep -vE "^(sh|ps|grep|sort|find|ip|nft|awk|sleep) ?|^\\["; true',
  mounts: "awk '{ print $5 }' /proc/self/mountinfo",
  namespaces: 'find /run/netns -type f 2>/dev/null; true',
  links: "ip -o link | awk '{ print $2 }'",
  routes: 'ip route',
  tables: 'nft list tables',
  cgroups: 'find /sys/fs/cgroup -type d -name "*k8ts*"',
  files: 'find /run /var/lib/cni /etc/cni -not -type d -not -path "*/.kube/*" 2>/dev/null; true',
}
