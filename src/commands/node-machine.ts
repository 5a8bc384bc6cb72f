/** What node components need of the machine, for the commands that run them. */
import type { NodeMachine } from '#/cluster/node-kubelet.ts'
import { connectHttp, loadGrpc, nodeCrypto, processUsage, serveHttp } from '#/platform/node.ts'

export function nodeMachine(): NodeMachine {
  return { serveHttp, connectHttp, loadGrpc, crypto: nodeCrypto(), usage: processUsage }
}
