/** What one request may ask for, and what one stream may hold in memory. */
export const bounds = {
  /** The body of a request in JSON; a longer one is not read. */
  requestBytes: 1_048_576,
  eventsPerWrite: 1000,
  preconditionsPerWrite: 100,
  subjectBytes: 512,
  typeBytes: 256,
  sourceBytes: 1024,
  /** The `data` of an event, in JSON. */
  dataBytes: 65_536,
  /** How deep objects and arrays may stand in each other. */
  depth: 64,
  schemaBytes: 65_536,
  /** Properties and items that a schema names, in all. */
  schemaNodes: 1000,
  queryBytes: 8192,
  queryConditions: 32,
  queryFields: 32,
  /** What a stream reads at a time, and so what waits for a client that does not read, unless a single line is longer. */
  pageBytes: 65_536,
  /** Events that are looked at in one go. */
  windowEvents: 1000,
  /** What is uploaded to be restored or imported. */
  uploadBytes: 67_108_864,
  /** One line of it: an event with the longest data, and what else belongs to an event. */
  lineBytes: 131_072,
  /** Between signs of life of a stream that has nothing to say. */
  heartbeatSeconds: 10,
  /** A connection on which nothing moves for longer is given up. */
  idleMs: 60_000,
  /** How long a CPU profile may take. */
  profileSeconds: 10,
} as const
