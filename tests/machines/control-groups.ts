/** Control groups of a machine or a host that a test starts: a subtree in every hierarchy, of version 1 or 2. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeCgroup } from '../../tools/test/remove-cgroup.ts'

const cgroupRoot = '/sys/fs/cgroup'

/**
 * Moves the shell into the cgroup `$1` of every hierarchy, then runs the rest. Commands run in a child of the machine's
 * cgroup: cgroup v2 enables controllers only for children of a cgroup without processes.
 */
export const enterCgroup = `
name=$1 && shift
for folder in ${cgroupRoot} ${cgroupRoot}/*; do
  [ -e $folder/cgroup.procs ] || continue
  own=$folder/$name
  mkdir -p $own
  for file in cpuset.cpus cpuset.mems; do
    [ -e $own/$file ] && [ -z "$(cat $own/$file)" ] && cat $folder/$file >$own/$file
  done
  echo $$ >$own/cgroup.procs
done
exec "$@"`

/** Mounts the hierarchies of the cgroup namespace of a shell below its working folder. */
export const mountCgroups = `
controllers=$(sed -n 's|^[^ ]* /sys/fs/cgroup/\\([^ ]*\\) cgroup \\([^ ]*\\) .*|\\1 \\2|p' /proc/mounts)
if [ -n "$controllers" ]; then
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  echo "$controllers" | while read -r name options; do
    mkdir -p sys/fs/cgroup/$name
    options=$(echo $options | sed 's/,relatime//; s/rw,//; s/nosuid,nodev,noexec,//')
    mount -t cgroup -o $options cgroup sys/fs/cgroup/$name
  done
else
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mkdir sys/fs/cgroup/commands
  echo $$ >sys/fs/cgroup/commands/cgroup.procs
fi`

/** Removes the cgroup of this name from every hierarchy. */
export async function removeCgroups(name: string): Promise<void> {
  const folders = ['', ...(await readdir(cgroupRoot))].map(controller => join(cgroupRoot, controller, name))
  for (const folder of folders) await removeCgroup(folder)
}
