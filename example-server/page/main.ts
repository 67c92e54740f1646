import type { Connection } from './connection.ts'
import { startPublishing } from './publishing.ts'
import { startReading } from './reader.ts'
import { startSettings } from './settings.ts'
import { startLive } from './topics.ts'

let connection: Connection
let read = () => {}
let reconnect = () => {}

startSettings((next) => {
  connection = next
  read()
  reconnect()
})
read = startReading(() => connection)
reconnect = startLive(
  () => connection,
  () => read(),
)
startPublishing(
  () => connection,
  () => read(),
)
