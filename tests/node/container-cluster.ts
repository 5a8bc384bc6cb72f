/** `k8ts up` on this machine with real containers, for all tests of a file, and images for it. */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { clusterForFile, type ChildCluster, type ChildClusterOptions } from '../clients/cluster.ts'
import { busyboxImage, testImage, textFile } from './test-images.ts'

export const program = fileURLToPath(new URL('../../k8ts', import.meta.url))

/** Includes the images of `exampleImages`. */
export async function containerCluster(options: ChildClusterOptions = {}): Promise<ChildCluster> {
  const cluster = await clusterForFile({ containers: true, ...options })
  await loadImages(cluster.folder)
  return cluster
}

/**
 * Image archives by name: `busybox`, and a substitute for `nginx:1.7.9` with the same port and document
 * folder.
 */
export async function exampleImages(): Promise<Readonly<Record<string, Uint8Array>>> {
  const html = 'usr/share/nginx/html'
  const nginx = await testImage({
    reference: 'docker.io/library/nginx:1.7.9',
    files: [textFile(`${html}/index.html`, 'it works\n')],
    config: { cmd: ['httpd', '-f', '-p', '80', '-h', `/${html}`], exposedPorts: ['80/tcp'] },
  })
  return { busybox: await busyboxImage(), nginx }
}

export async function loadImages(folder: string): Promise<void> {
  for (const [name, archive] of Object.entries(await exampleImages())) {
    const path = join(folder, `${name}.tar`)
    await writeFile(path, archive)
    await promisify(execFile)(program, ['image', 'load', path, '--data-dir', folder])
    await rm(path)
  }
}
