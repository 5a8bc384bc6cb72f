/** The operator as a process of its own: `node main.ts`. */
import { runOperator } from 'k8ts/controller/operator'
import { connectHttp } from 'k8ts/platform'
import { etcdOperator } from './etcd-controller.ts'
import { httpEtcdClient } from './etcd-client.ts'

await runOperator(etcdOperator(httpEtcdClient(connectHttp)))
